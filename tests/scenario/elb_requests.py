"""Shared by the tests of Elastic Load Balancing: the list of operations, and certificates."""
import os
import subprocess

from conftest import DEADLINE

# Every operation of the model.
BUILT = [
    "AddListenerCertificates", "AddTags", "AddTrustStoreRevocations", "CreateListener",
    "CreateLoadBalancer", "CreateRule", "CreateTargetGroup", "CreateTrustStore", "DeleteListener",
    "DeleteLoadBalancer", "DeleteRule", "DeleteSharedTrustStoreAssociation", "DeleteTargetGroup",
    "DeleteTrustStore", "DeregisterTargets", "DescribeAccountLimits", "DescribeCapacityReservation",
    "DescribeListenerAttributes", "DescribeListenerCertificates", "DescribeListeners",
    "DescribeLoadBalancerAttributes", "DescribeLoadBalancers", "DescribeRules",
    "DescribeSSLPolicies", "DescribeTags", "DescribeTargetGroupAttributes", "DescribeTargetGroups",
    "DescribeTargetHealth", "DescribeTrustStoreAssociations", "DescribeTrustStoreRevocations",
    "DescribeTrustStores", "GetResourcePolicy", "GetTrustStoreCaCertificatesBundle",
    "GetTrustStoreRevocationContent", "ModifyCapacityReservation", "ModifyIpPools",
    "ModifyListener", "ModifyListenerAttributes", "ModifyLoadBalancerAttributes", "ModifyRule",
    "ModifyTargetGroup", "ModifyTargetGroupAttributes", "ModifyTrustStore", "RegisterTargets",
    "RemoveListenerCertificates", "RemoveTags", "RemoveTrustStoreRevocations", "SetIpAddressType",
    "SetRulePriorities", "SetSecurityGroups", "SetSubnets",
]
# There are no trust stores and no pools of addresses.
REFUSED_ONLY = [
    "AddTrustStoreRevocations", "CreateTrustStore", "DeleteSharedTrustStoreAssociation",
    "DeleteTrustStore", "DescribeTrustStoreAssociations", "DescribeTrustStoreRevocations",
    "GetResourcePolicy", "GetTrustStoreCaCertificatesBundle", "GetTrustStoreRevocationContent",
    "ModifyIpPools", "ModifyTrustStore", "RemoveTrustStoreRevocations",
]


def write_certificate(folder, name):
    """FOLDER/NAME.pem: a certificate of its own for NAME.example, and its key."""
    key, chain = os.path.join(folder, "key"), os.path.join(folder, "chain")
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
         "-nodes", "-keyout", key, "-out", chain, "-days", "2", "-subj", f"/CN={name}.example"],
        check=True, capture_output=True, timeout=DEADLINE * 2)
    with open(os.path.join(folder, name + ".pem"), "w", encoding="ascii") as out:
        for part in (chain, key):
            with open(part, encoding="ascii") as file:
                out.write(file.read())
            os.unlink(part)
