"""Runs a training command in short bursts and says where its time goes."""
