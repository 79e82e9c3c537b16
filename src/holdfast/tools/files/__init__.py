"""Read, Edit, MultiEdit, Write, and undo."""
