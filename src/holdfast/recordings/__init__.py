"""Recordings: the files in which other agents keep their sessions, read into events.

Rule: what a file holds that has no place here is counted, and said in the recording's notes.
"""

from holdfast.recordings.recording_files import FORMATS, detect_format, find_recording, read_recordings

__all__ = ["FORMATS", "detect_format", "find_recording", "read_recordings"]
