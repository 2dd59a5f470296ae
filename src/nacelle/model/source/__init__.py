"""What somebody wrote, as a tree of nodes: read from YAML or Python, templates expanded."""
