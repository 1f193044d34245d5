"""Variables that keep experiment trackers from telling anyone about a burst.

A burst replays batches and stops early: its curves would stand among the user's real ones, and some
trackers upload checkpoints as well. Only what sends is switched off; loading models stays possible,
so neither `HF_HUB_OFFLINE` nor an empty token is here: the guard refuses pushes to the Hub instead.
TensorBoard is not here: it writes new files, and the list of new files names them. Aim has no such
variable, and its database is native code: the guard refuses a run of it.
"""

from __future__ import annotations


def tracker_variables() -> dict[str, str]:
    """Return the environment variables to set for a run that nobody should hear of.

    >>> tracker_variables()["WANDB_MODE"]
    'disabled'
    """
    return {
        # wandb, "Environment variables": every call does nothing, no folder is written
        "WANDB_MODE": "disabled",
        # transformers, integrations/integration_utils.py: its wandb callback stays out
        "WANDB_DISABLED": "true",
        # weave, "Environment variables": no call is traced
        "WEAVE_DISABLED": "true",
        # transformers, integrations/integration_utils.py: its MLflow callback does nothing
        "DISABLE_MLFLOW_INTEGRATION": "TRUE",
        # mlflow, "Tracking": runs started by the script go to a folder, never to a server
        "MLFLOW_TRACKING_URI": "file:///tmp/costplan-mlruns",
        # mlflow, environment_variables.py: an experiment of the server is not in that folder
        "MLFLOW_EXPERIMENT_ID": "",
        "MLFLOW_RUN_ID": "",
        # transformers, integrations/integration_utils.py: its Comet callback does nothing
        "COMET_MODE": "DISABLED",
        # comet_ml, "Configure Comet": `start` makes an offline archive instead
        "COMET_START_ONLINE": "0",
        # comet_ml, "Configure Comet": nothing is logged unasked
        "COMET_DISABLE_AUTO_LOGGING": "1",
        # clearml, "Task": tasks stay in its cache folder
        "CLEARML_OFFLINE_MODE": "1",
        # neptune 1 and neptune-scale: the one mode both know that sends nothing
        "NEPTUNE_MODE": "offline",
        # trackio, "Environment variables": no Space, only its cache folder
        "TRACKIO_SPACE_ID": "",
        # swanlab, "Environment variables": neither uploaded nor written
        "SWANLAB_MODE": "disabled",
        # dvclive, live.py: a temporary folder, no DVC experiment
        "DVCLIVE_TEST": "true",
        # codecarbon, "Configuration": neither its API nor emissions.csv
        "CODECARBON_SAVE_TO_API": "false",
        "CODECARBON_SAVE_TO_FILE": "false",
        # ultralytics, utils/__init__.py: no HUB session, no events
        "YOLO_OFFLINE": "true",
    }
