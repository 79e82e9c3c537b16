"""What a path, and what a line of code, says about a change: tags by path, and reasons to look at security.

Rule: words, not substrings: `author.py` is not about `auth`, and `latest/` contains no tests. Each security
pattern names a reason, so that a tag can be explained. Words that often mean something else (a token of a parser
or a model, a hash that names content, a database session) are left out.
"""

import re
from collections.abc import Iterable
from functools import lru_cache

from holdfast.review.unit import Tag

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_SECURITY_WORDS = set(
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
    """Tags of a path that is neither a test nor documentation."""
    tags: set[Tag] = set()
    if _CONFIG.search(path):
        tags.add("config")
    if _MIGRATION.search(path):
        tags.add("migration")
    elif _ROUTING.search(path):
        tags.add("routing")
    if _SECURITY_WORDS & {word.lower() for word in _WORD.findall(path)}:
        tags.add("security")
    return tags


_EVERYWHERE = {
    "authentication": r"\b(?:is_?|has_?|check_?|require_?|verify_?)?"
    r"(?:auth(?:enticat|ori[sz])\w*|login|logout|sign_?in)\b"
    r"|\b(?:is_?admin|is_?staff|is_?superuser|superuser|impersonat\w+|bearer)\b|\b(?:jwt|oauth2?|saml|oidc|webauthn)\b",
    "permissions": r"\b(?:has|check|require|grant|revoke|user|object)_?permissions?\b|\b(?:rbac|acl|setuid|seteuid"
    r"|chmod"
    r"|fchmod|chown|umask|privileges?|GRANT|REVOKE)\b",
    "secrets": r"(?:\b|_)(?:passw(?:or)?ds?|passphrase|secret_?keys?|client_?secret|api_?keys?|private_?keys?"
    r"|access_?keys?|credentials?|(?:auth|access|refresh|session|csrf|xsrf|bearer|api|id|reset)_?tokens?)(?:\b|_)",
    "cryptography": r"\b(?:md5|sha1|hmac|bcrypt|argon2\w*|scrypt|pbkdf2\w*|x509|ecdsa|ed25519|fernet)\b"
    r"|(?:\b|_)(?:en|de)crypt\w*|\bcipher\w*|\bcrypto(?:\.|/|::)",
    "certificates not checked": r"verify\s*=\s*False|InsecureSkipVerify|rejectUnauthorized|CERT_NONE|check_hostname"
    r"|_create_unverified_context|NODE_TLS_REJECT|VERIFY_NONE|danger_accept_invalid|ALLOW_ALL_HOSTNAME"
    r"|SSL_VERIFY(?:PEER|HOST)|--insecure\b|--no-check-certificate",
    "SQL built from strings": r"(?:\bf|\$)?[\"'`][^\"'`]*\b(?:SELECT\b.+\bFROM|INSERT\s+INTO|UPDATE\b.+\bSET"
    r"|DELETE\s+FROM)\b.*(?:\{|[\"']\s+%\s*[\w(]|[\"']\s*\+|[\"']\.format|\$\{|#\{|\|\|)|Sprintf\(\s*\"(?:SELECT|INSERT|UPDATE"
    r"|DELETE)\b|\.(?:execute|executescript|raw|rawQuery|\$queryRawUnsafe)\(\s*(?:f[\"']|`[^`]*\$\{)",
    "HTML not escaped": r"\binnerHTML\b|dangerouslySetInnerHTML|document\.write\(|\bv-html\b|\bmark_safe\b"
    r"|\bhtml_safe\b|\bautoescape\b|\|\s*safe\b|bypassSecurityTrust",
    "who may call": r"Access-Control-Allow|\ballow_origins\b|\bcors\s*\(|\bCORS\w*\(|\bcsrf_exempt\b|\bcsrf\w*\b"
    r"|Content-Security-Policy|X-Frame-Options|\bhttponly\b|\bsamesite\b|\bALLOWED_HOSTS\b",
    "archives and links": r"\b(?:tar|zip)\w*\.extract(?:all)?\(|\.extractall\(|\bO_NOFOLLOW\b|\bfollow_symlinks\b"
    r"|\bsecure_filename\b|\bsend_from_directory\b|\brealpath\b|\bresolve_entities\b|\bmktemp\(",
    "paths out of requests": r"(?:join|Path|open|readFile\w*|sendFile)\(.*"
    r"\b(?:req(?:uest)?|params|query|form|argv|args)(?:\.|\[)\w+",
}
_IN_LANGUAGES = {
    "python": {
        "commands": r"\bsubprocess\.(?!CalledProcessError|TimeoutExpired|PIPE|DEVNULL|STDOUT)\w+|\bos\.(?:system"
        r"|popen|exec[lv]\w*|spawn\w+)\(|create_subprocess_\w+\(|\bshell\s*=\s*True|\bpty\.spawn\b",
        "code out of data": r"(?<![\w.])(?:eval|exec|__import__)\s*\(|\bpickle\.loads?\(|\bmarshal\.loads?\("
        r"|\bshelve\.open\(|\byaml\.(?:load|unsafe_load)\((?!.*Safe)|\bdill\.loads?\(|\bjsonpickle\b|\btorch\.load\(|import_module\(",
    },
    "javascript": {
        "commands": r"\bchild_process\b|(?<![\w.])(?:exec|execFile|spawn|fork)(?:Sync)?\(",
        "code out of data": r"(?<![\w.])eval\s*\(|\bnew Function\(|\bvm\.run\w+\(|__proto__",
    },
    "go": {"commands": r"\bexec\.Command\w*\(|\bsyscall\.Exec\(", "memory": r"\bunsafe\.\w+"},
    "rust": {"commands": r"\bCommand::new\(", "memory": r"\bunsafe\b|\btransmute\b|from_raw_parts"},
    "java": {
        "commands": r"getRuntime\(\)\.exec|\bProcessBuilder\b",
        "code out of data": r"\bObjectInputStream\b|\breadObject\(|\bScriptEngine\b|\bXMLDecoder\b"
        r"|Class\.forName\(",
    },
    "c": {
        "commands": r"(?<![\w.>])(?:system|popen|exec[lv]p?e?)\s*\(",
        "memory": r"\b(?:strcpy|strcat|v?sprintf|gets|scanf|memcpy|memmove|alloca|realloc)\s*\(",
    },
    "ruby": {
        "commands": r"(?<![\w.])(?:system|exec|spawn)[\s(]|%x[\[({]|\bOpen3\.|`[^`]*#\{",
        "code out of data": r"(?<![\w.])(?:eval|instance_eval|class_eval)\b|\bMarshal\.load"
        r"|\bYAML\.(?:load|unsafe_load)\b|\.constantize\b|\bparams\.permit!",
    },
    "php": {
        "commands": r"\b(?:shell_exec|passthru|proc_open|popen|system|exec)\s*\(",
        "code out of data": r"\b(?:eval|unserialize|extract)\s*\(|\$_(?:GET|POST|REQUEST|COOKIE)\b",
    },
    "shell": {
        "commands": r"\beval\s|curl[^|]*\|\s*(?:sudo\s+)?(?:ba)?sh|\bsudo\b|rm\s+-\w*r",
    },
    "dockerfile": {"commands": r"\bADD\s+http|curl[^|]*\|\s*(?:ba)?sh|--privileged|\bUSER\s+root\b"},
    "yaml": {
        "permissions": r"\b(?:privileged|hostNetwork|hostPID|allowPrivilegeEscalation|runAsUser|capabilities)\s*:"
        r"|pull_request_target|\bpermissions\s*:|write-all|github\.event\.",
    },
}
_ALIKE = {
    "typescript": "javascript",
    "tsx": "javascript",
    "vue": "javascript",
    "svelte": "javascript",
    "cpp": "c",
}
_PROSE = {"markdown", "rst", "text", "json", "css", ""}
"""Not code: these words mean nothing there."""


def _compiled(patterns: dict[str, str]) -> tuple[tuple[str, re.Pattern[str]], ...]:
    # Names match in any case, but SQL keywords only in capitals: `select from` is also English.
    return tuple(
        (name, re.compile(pattern, 0 if name == "SQL built from strings" else re.IGNORECASE))
        for name, pattern in patterns.items()
    )


_GENERAL = _compiled(_EVERYWHERE)
_OWN = {language: _compiled(patterns) for language, patterns in _IN_LANGUAGES.items()}

LONG_LINE = 2000
"""Characters of a line that are searched."""


def security_reasons(lines: Iterable[str], language: str) -> tuple[str, ...]:
    """The names of the patterns that match these lines, in a fixed order; none in a language that is not code."""
    if language in _PROSE:
        return ()
    text = "\n".join(line[:LONG_LINE] for line in lines)
    patterns = (*_GENERAL, *_OWN.get(_ALIKE.get(language, language), ()))
    return tuple(name for name, pattern in patterns if pattern.search(text))
