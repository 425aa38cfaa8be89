"""Word alignment: links between the words of sentences and their translations."""
