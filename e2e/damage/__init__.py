"""The damage fuzz: what a job has stored is damaged behind a killed driver, and the job is restored.

``python -m e2e.damage`` kills jobs of several recipes and checkpoint stores at failpoints, keeps their homes and targets,
and then, case by case, puts these back, damages one stored file, object or row, and goes on with the job. Each restore
has to be refused with a typed error that names what is damaged (``naming.py``) and exit code 1, or to end with every row
there exactly once. ``recipes.py`` says what runs,
``things.py`` how something is damaged, ``cases.py`` what counts.
"""
