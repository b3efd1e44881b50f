"""Safe text for terminals and HTML, and rendering of HTML pages."""
