"""Where training records come from: packages, their files, and the questions about them."""
