"""An encoder that runs in this process: its sessions, what it keeps of parts, and the packed batches that it reads."""
