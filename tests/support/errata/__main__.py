"""Print the table of the page."""

from support.errata import PAPERS, evidence_of

if __name__ == "__main__":
    print("| equation | compared | error as printed | as corrected |\n|---|---|---|---|")
    for paper in PAPERS:
        for row in evidence_of(paper):
            print(f"| {row.equation} | {row.quantity} | {row.printed:.2g} | {row.corrected:.0e} |")
