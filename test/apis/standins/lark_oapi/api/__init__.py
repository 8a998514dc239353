raise ImportError("and this, too")
