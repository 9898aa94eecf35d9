// evalite looks for this file under its own name, and is installed under another one here.
