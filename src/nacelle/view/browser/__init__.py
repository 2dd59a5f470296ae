"""What the page in the browser shows, through viser: the server, one robot on the stage, its controls."""
