"""What code says of itself: which function stands where, how it branches, what it brings in."""


# What kind of change a unit is, told by where it stands and by what it says.


# From git, or from a text, to a diff and both versions of its files.
