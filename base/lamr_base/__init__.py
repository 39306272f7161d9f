"""What every package uses: errors, private files, the cache, settings, CPUs, arrays, tables, and resampling."""
