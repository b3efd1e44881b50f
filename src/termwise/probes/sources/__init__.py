"""Where pairs of texts come from: judged texts, data sets, our own written pairs, and YAML files."""
