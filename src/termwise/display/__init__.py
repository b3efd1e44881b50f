"""Text made safe for terminals and web pages, and shared parts of HTML pages."""
