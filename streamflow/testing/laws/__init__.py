"""The laws that every operator keeps, for operators of your own: `check_operator`."""

from streamflow.testing.laws.check import LawsBroken, OperatorReport, Violation, check_operator

__all__ = ["LawsBroken", "OperatorReport", "Violation", "check_operator"]
