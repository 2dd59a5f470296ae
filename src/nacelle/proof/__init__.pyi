from nacelle.proof.assemblies import (
    CertifiedAssemblies as CertifiedAssemblies,
    certified_assemblies as certified_assemblies,
)
from nacelle.proof.equations import ProofError as ProofError
from nacelle.proof.path import PathProof as PathProof, UnprovedPlace as UnprovedPlace, prove as prove
