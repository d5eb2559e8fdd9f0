"""The chat agent: questions answered from memory, with a model that searches, or without one."""
