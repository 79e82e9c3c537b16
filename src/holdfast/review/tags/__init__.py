"""What kind of change a unit is, told by where it stands and by what it says."""
