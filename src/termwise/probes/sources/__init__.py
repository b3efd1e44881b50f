"""Sources of text pairs: judged texts, data sets, written pairs, and YAML files of users."""
