"""Account settings: of a user, of the whole account, and what is in force."""
import pytest

from ecs_requests import ACCOUNT, all_pages, cli_refused, refused, send_refused

SERVER_ARGUMENTS = ["--runtime", "none"]

ROOT = f"arn:aws:iam::{ACCOUNT}:root"
ADMIN = f"arn:aws:iam::{ACCOUNT}:user/admin"
OTHER_USER = f"arn:aws:iam::{ACCOUNT}:role/path/testuser"

# AWS's default, and the other values.
VALUES = {
    "awsvpcTrunking": ("disabled", ["enabled"]),
    "containerInsights": ("disabled", ["enabled", "enhanced"]),
    "containerInstanceLongArnFormat": ("enabled", ["disabled"]),
    "defaultLogDriverMode": ("non-blocking", ["blocking"]),
    "fargateEventWindows": ("disabled", ["enabled"]),
    "fargateFIPSMode": ("disabled", ["enabled"]),
    "fargateTaskRetirementWaitPeriod": ("7", ["0", "14"]),
    "guardDutyActivate": ("off", []),
    "serviceLongArnFormat": ("enabled", ["disabled"]),
    "tagResourceAuthorization": ("off", ["on"]),
    "taskLongArnFormat": ("enabled", ["disabled"]),
}


@pytest.fixture(scope="module")
def ecs(slipway):
    return slipway.boto("ecs")


def settings_of(ecs, **parameters):
    found, _ = all_pages(ecs.list_account_settings, "settings", **parameters)
    return {setting["name"]: setting["value"] for setting in found}


def test_what_is_in_force_when_nothing_was_set(slipway):
    ecs = slipway.boto("ecs", region="eu-west-1")
    assert settings_of(ecs) == {}
    assert settings_of(ecs, effectiveSettings=True) == {
        name: default for name, (default, _) in VALUES.items()}


@pytest.mark.parametrize("name", [name for name, (_, others) in VALUES.items() if others])
def test_own_value_over_account_over_aws(slipway, name):
    ecs = slipway.boto("ecs", region="eu-north-1")
    default, others = VALUES[name]

    def in_force(principal):
        return settings_of(ecs, name=name, principalArn=principal, effectiveSettings=True)[name]

    for value in others + [default]:
        setting = ecs.put_account_setting_default(name=name, value=value)["setting"]
        assert setting["name"] == name and setting["value"] == value
        assert setting["principalArn"] == ROOT
        assert in_force(OTHER_USER) == in_force(ROOT) == value
    ecs.put_account_setting_default(name=name, value=others[0])
    setting = ecs.put_account_setting(name=name, value=default)["setting"]
    assert setting["principalArn"] == ADMIN and setting["value"] == default
    assert in_force(ADMIN) == default and in_force(OTHER_USER) == others[0]
    ecs.put_account_setting(name=name, value=default, principalArn=OTHER_USER)
    assert in_force(OTHER_USER) == default
    # Deleting gives back what is below.
    assert ecs.delete_account_setting(name=name, principalArn=OTHER_USER)["setting"]["value"] == \
        others[0]
    assert ecs.delete_account_setting(name=name)["setting"]["value"] == others[0]
    assert in_force(ADMIN) == others[0]
    ecs.delete_account_setting(name=name, principalArn=ROOT)
    assert in_force(ADMIN) == in_force(OTHER_USER) == in_force(ROOT) == default
    # And what is not set can be deleted too.
    assert ecs.delete_account_setting(name=name)["setting"]["value"] == default


def test_list_filters_and_pages(slipway):
    ecs = slipway.boto("ecs", region="eu-central-1")
    ecs.put_account_setting(name="taskLongArnFormat", value="enabled")
    ecs.put_account_setting(name="containerInsights", value="enabled")
    ecs.put_account_setting_default(name="awsvpcTrunking", value="enabled")
    assert settings_of(ecs) == {"containerInsights": "enabled", "taskLongArnFormat": "enabled"}
    assert settings_of(ecs, principalArn=ROOT) == {"awsvpcTrunking": "enabled"}
    assert settings_of(ecs, name="containerInsights") == {"containerInsights": "enabled"}
    assert settings_of(ecs, name="containerInsights", value="disabled") == {}
    assert settings_of(ecs, name="awsvpcTrunking", value="enabled", effectiveSettings=True) == {
        "awsvpcTrunking": "enabled"}
    whole = settings_of(ecs, effectiveSettings=True)
    assert len(whole) == len(VALUES)
    for size in (1, 3, 10):
        found, sizes = all_pages(ecs.list_account_settings, "settings", effectiveSettings=True,
                                 maxResults=size)
        assert {one["name"]: one["value"] for one in found} == whole
        assert len(found) == len(whole) and set(sizes[:-1]) <= {size}
    token = ecs.list_account_settings(effectiveSettings=True, maxResults=1)["nextToken"]
    for other in ({}, {"effectiveSettings": True, "principalArn": ROOT},
                  {"effectiveSettings": True, "name": "containerInsights"}):
        refused(ecs.list_account_settings, "InvalidParameterException", "nextToken",
                nextToken=token, **other)
    refused(ecs.list_account_settings, "InvalidParameterException", "maxResults", maxResults=11)
    refused(ecs.list_account_settings, "InvalidParameterException", "value", value="enabled")


@pytest.mark.parametrize("members, part", [
    ({"name": "weather", "value": "enabled"}, "name"),
    ({"name": "taskLongArnFormat", "value": "ENABLED"}, "value"),
    ({"name": "taskLongArnFormat", "value": ""}, "value"),
    ({"name": "fargateTaskRetirementWaitPeriod", "value": "8"}, "0"),
    ({"name": "guardDutyActivate", "value": "on"}, "guardDutyActivate"),
    ({"name": "taskLongArnFormat"}, "value"),
    ({"value": "enabled"}, "name"),
])
def test_refused_values(slipway, ecs, members, part):
    before = settings_of(ecs), settings_of(ecs, principalArn=ROOT)
    for operation in ("PutAccountSetting", "PutAccountSettingDefault"):
        send_refused(slipway, operation, members, "InvalidParameterException", part)
    assert (settings_of(ecs), settings_of(ecs, principalArn=ROOT)) == before


@pytest.mark.parametrize("principal", [
    "testuser", "", "arn:aws:iam::210987654321:user/x", f"arn:aws:iam::{ACCOUNT}:",
    f"arn:aws:iam::{ACCOUNT}:user/" + "x" * 600, f"arn:aws:iam::{ACCOUNT}:user/a b",
    f"arn:aws:iam::{ACCOUNT}:root\0", f"arn:aws:iam::{ACCOUNT}:group/x",
])
def test_principals_of_others(ecs, principal):
    refused(ecs.put_account_setting, "InvalidParameterException", "principalArn",
            name="taskLongArnFormat", value="enabled", principalArn=principal)
    refused(ecs.delete_account_setting, "InvalidParameterException", "principalArn",
            name="taskLongArnFormat", principalArn=principal)
    refused(ecs.list_account_settings, "InvalidParameterException", "principalArn",
            principalArn=principal)


def test_new_clusters_have_the_accounts_insights(slipway):
    ecs = slipway.boto("ecs", region="ap-south-1")
    ecs.put_account_setting_default(name="containerInsights", value="enhanced")
    assert ecs.create_cluster(clusterName="new")["cluster"]["settings"] == [
        {"name": "containerInsights", "value": "enhanced"}]


def test_aws_cli(slipway):
    def aws(*args):
        return slipway.aws("ecs", *args).json

    assert aws("put-account-setting", "--name", "awsvpcTrunking", "--value", "enabled")[
        "setting"]["value"] == "enabled"
    cli_refused(slipway, "InvalidParameterException", "value", "put-account-setting", "--name",
                "awsvpcTrunking", "--value", "ENABLED")
    assert aws("put-account-setting-default", "--name", "awsvpcTrunking", "--value", "disabled")[
        "setting"]["principalArn"] == ROOT
    cli_refused(slipway, "InvalidParameterException", "name", "put-account-setting-default",
                "--name", "weather", "--value", "enabled")
    assert aws("list-account-settings", "--name", "awsvpcTrunking", "--effective-settings")[
        "settings"][0]["value"] == "enabled"
    cli_refused(slipway, "InvalidParameterException", "principalArn", "list-account-settings",
                "--principal-arn", "testuser")
    assert aws("delete-account-setting", "--name", "awsvpcTrunking")["setting"]["value"] == \
        "disabled"
    cli_refused(slipway, "InvalidParameterException", "name", "delete-account-setting", "--name",
                "weather")
