"""From a question to a prompt: plan, score, select, gate, assemble."""
