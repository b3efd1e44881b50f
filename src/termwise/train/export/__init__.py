"""Trained networks as files: ONNX export, quantisation, encoder folders and model cards."""
