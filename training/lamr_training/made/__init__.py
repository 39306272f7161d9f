"""Made questions about source files of every language that has a grammar, out of what the files say of themselves."""
