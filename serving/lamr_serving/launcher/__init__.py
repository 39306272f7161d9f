"""Starting, supervising and stopping the bundled Triton: its folder, its command line, its processes, its log."""
