"""Probes of retrieval axioms, over constructed texts and over judged texts.

An axiom states which of two texts should have the higher score under a condition. `ConstructedProbe` makes pairs that
meet the condition exactly; `JudgedAxiomProbe` finds pairs among the judged texts of a query. Both use one definition.
Weak axioms allow equal scores: only negative effects violate them.
"""
