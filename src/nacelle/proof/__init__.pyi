from nacelle.proof.assemblies import (
    CertifiedAssemblies as CertifiedAssemblies,
    certified_assemblies as certified_assemblies,
)
from nacelle.proof.equations import ProofError as ProofError
from nacelle.proof.path import PathProof as PathProof, UnprovedPlace as UnprovedPlace, prove as prove
from nacelle.proof.file import load_proof as load_proof, save_proof as save_proof
from nacelle.proof.largest import ProvenShape as ProvenShape, largest_shape as largest_shape
from nacelle.proof.workspace import ProvenWorkspace as ProvenWorkspace, prove_workspace as prove_workspace
