"""The small form: links that carry no moments condensed at their ends, so that no loop is left."""
