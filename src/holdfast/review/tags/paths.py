"""What a path says of a change.

Rule: words, not letters. `author.py` is not about `auth`, and `latest/` holds no tests.
"""

import re
from functools import lru_cache

from holdfast.review.unit import Tag

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_SECURITY = set(
    "auth authn authz authentication authorization oauth login signin password passwords passwd credential "
    "credentials secret secrets crypto cryptography security permission permissions acl rbac iam jwt sso saml csrf "
    "cors sandbox sudo sudoers encryption tls ssl vault redaction sanitizer sanitize webauthn otp totp".split()
)
_DEPENDENCIES = re.compile(
    r"(?:^|/)(?:pyproject\.toml|setup\.(?:py|cfg)|(?:[\w-]*requirements[\w.-]*|constraints)\.(?:txt|in)|Pipfile|"
    r"package\.json|go\.(?:mod|work)|Cargo\.toml|Gemfile|[\w.-]+\.gemspec|pom\.xml|build\.gradle(?:\.kts)?|"
    r"libs\.versions\.toml|composer\.json|environment\.ya?ml|vcpkg\.json|conanfile\.(?:txt|py)|Podfile|\.gitmodules)$"
)
_LOCKS = re.compile(
    r"(?:^|/)(?:uv\.lock|poetry\.lock|pdm\.lock|Pipfile\.lock|package-lock\.json|npm-shrinkwrap\.json|yarn\.lock|"
    r"pnpm-lock\.yaml|bun\.lockb?|go\.sum|go\.work\.sum|Cargo\.lock|Gemfile\.lock|composer\.lock|Podfile\.lock|"
    r"gradle\.lockfile|flake\.lock|pylock(?:\.[\w-]+)?\.toml)$"
)
_TESTS = re.compile(
    r"(?:^|/)(?:tests?|specs?|__tests__|__mocks__|testdata|testing|fixtures?|e2e|cypress)/|"
    r"(?:^|/)(?:test_[^/]*|[^/]*_(?:test|spec)|conftest|[^/]*\.(?:test|spec|cy))\.\w+$|"
    r"(?:^|/)[A-Z]\w*(?:Tests?|IT|Spec)\.(?:java|kt|scala|cs|swift)$"
)
_DOCS = re.compile(
    r"\.(?:md|markdown|mdx|rst|adoc|asciidoc|tex)$|(?:^|/)docs?/[^/]*\.(?:txt|svg|png|jpe?g|gif)$|"
    r"(?:^|/)(?:README|CHANGELOG|CHANGES|LICEN[CS]E|NOTICE|AUTHORS|CONTRIBUTING|HISTORY)(?:\.\w+)?$",
    re.IGNORECASE,
)
_CONFIG = re.compile(
    r"\.(?:ya?ml|toml|ini|cfg|conf|config|properties|env|tf|tfvars|hcl|plist|editorconfig)$|(?:^|/)\.env(?:\.\w+)?$|"
    r"(?:^|/)(?:Dockerfile|Containerfile|Makefile|Jenkinsfile|Procfile|Vagrantfile|CODEOWNERS|\.[\w.-]*rc)(?:\.\w+)?$|"
    r"(?:^|/)(?:settings|config|configuration)(?:[._-]\w+)?\.(?:py|ts|js|mjs|cjs|rb|go|json)$|"
    r"\.config\.[cm]?[jt]s$|(?:^|/)[jt]sconfig[\w.-]*\.json$|(?:^|/)(?:appsettings|launch|tasks)[\w.]*\.json$|"
    r"(?:^|/)(?:config|settings)/|(?:^|/)\.(?:github|circleci|gitlab)/|(?:^|/)\.git(?:ignore|attributes)$"
)
_ROUTING = re.compile(
    r"(?:^|/)(?:routes?|routers?|routing|urls|controllers?|endpoints?)(?:/|[\w.-]*\.\w+$)|"
    r"[._-](?:routes?|routers?|routing|controllers?)\.\w+$|[a-z](?:Router|Routes|Routing|Controller)\.\w+$"
)
_MIGRATION = re.compile(
    r"(?:^|/)(?:migrations?|migrate|flyway|liquibase)/|(?:^|/)alembic/versions/|"
    r"(?:^|/)V\d[\d_.]*__\w+\.(?:sql|java)$|(?:^|/)schema\.(?:sql|rb|prisma)$|\.up\.sql$|\.down\.sql$"
)
_GENERATED = re.compile(
    r"(?:^|/)(?:vendor|node_modules|third_party|third-party|bower_components|generated|__generated__|dist)/|"
    r"\.min\.(?:js|css)$|\.(?:js|css)\.map$|_pb2(?:_grpc)?\.pyi?$|\.pb\.(?:go|cc|h)$|_generated\.\w+$|"
    r"\.generated\.\w+$|\.g\.(?:dart|cs)$|\.designer\.cs$|(?:^|/)zz_generated|(?:^|/)__snapshots__/|\.snap$"
)


@lru_cache(maxsize=4096)
def path_tags(path: str) -> frozenset[Tag]:
    tags: set[Tag] = set()
    is_dependency = bool(_DEPENDENCIES.search(path))
    if _LOCKS.search(path):
        tags |= {"dependencies", "generated"}
    elif is_dependency:
        tags.add("dependencies")
    if _GENERATED.search(path):
        tags.add("generated")
    if _TESTS.search(path):
        tags.add("tests")
    if _DOCS.search(path) and not is_dependency:
        tags.add("docs")
    elif not tags & {"dependencies", "tests"}:
        tags |= _code_tags(path)
    return frozenset(tags)


def _code_tags(path: str) -> set[Tag]:
    """Of what is neither a test nor text for people."""
    tags: set[Tag] = set()
    if _CONFIG.search(path):
        tags.add("config")
    if _MIGRATION.search(path):
        tags.add("migration")
    elif _ROUTING.search(path):
        tags.add("routing")
    if _SECURITY & {word.lower() for word in _WORD.findall(path)}:
        tags.add("security")
    return tags
