"""Probes of judged texts that agree in one measurement and differ in another."""
