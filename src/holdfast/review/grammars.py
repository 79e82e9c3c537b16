"""Grammars: a tree-sitter query for each language that finds functions, branches, imports, comments and calls.

Rule: one query a language, as data. tree-sitter and its grammars are an extra; without them no language has a
grammar, and `missing_grammars` says so.
"""

from functools import cache
from typing import Any

_PYTHON = """
(function_definition name: (identifier) @name) @function
(class_definition name: (identifier) @name) @class
[(if_statement) (elif_clause) (for_statement) (while_statement) (except_clause) (case_clause)
 (conditional_expression) (boolean_operator) (for_in_clause) (if_clause) (assert_statement)] @branch
[(import_statement) (import_from_statement) (future_import_statement)] @import
(comment) @comment
(expression_statement . (string) .) @comment
(expression_statement (call)) @call
"""
_SCRIPT = """
(function_declaration name: (_) @name) @function
(generator_function_declaration name: (_) @name) @function
(class_declaration name: (_) @name) @class
(method_definition name: (_) @name) @function
(variable_declarator name: (identifier) @name
  value: [(arrow_function) (function_expression) (generator_function)]) @function
(pair key: (property_identifier) @name value: [(arrow_function) (function_expression)]) @function
(assignment_expression left: (_) @name right: [(arrow_function) (function_expression)]) @function
[(if_statement) (for_statement) (for_in_statement) (while_statement) (do_statement) (switch_case)
 (catch_clause) (ternary_expression)] @branch
(binary_expression operator: ["&&" "||" "??"]) @branch
((call_expression function: [(identifier) @head (member_expression object: (identifier) @head)
    (call_expression function: (member_expression object: (identifier) @head))]
  arguments: (arguments . [(string) (template_string)] @name [(arrow_function) (function_expression)])) @function
  (#match? @head "^(test|it|bench|specify|xit|fit|xtest)$"))
((call_expression function: [(identifier) @head (member_expression object: (identifier) @head)
    (call_expression function: (member_expression object: (identifier) @head))]
  arguments: (arguments . [(string) (template_string)] @name [(arrow_function) (function_expression)])) @class
  (#match? @head "^(describe|suite|context|xdescribe|fdescribe)$"))
(import_statement) @import
(export_statement source: (_)) @import
(comment) @comment
(expression_statement (call_expression)) @call
"""
_JAVASCRIPT = _SCRIPT + "(field_definition property: (_) @name value: [(arrow_function)]) @function\n"
_TYPESCRIPT = (
    _SCRIPT
    + """
(public_field_definition name: (_) @name value: (arrow_function)) @function
(function_signature name: (_) @name) @function
(abstract_class_declaration name: (_) @name) @class
(interface_declaration name: (_) @name) @class
(enum_declaration name: (_) @name) @class
(type_alias_declaration name: (_) @name) @class
(internal_module name: (_) @name) @module
"""
)
_GO = """
(function_declaration name: (_) @name) @function
(method_declaration receiver: (_) @owner name: (_) @name) @function
(type_spec name: (_) @name) @class
(type_alias name: (_) @name) @class
[(if_statement) (for_statement) (expression_case) (type_case) (communication_case)] @branch
(binary_expression operator: ["&&" "||"]) @branch
(import_declaration) @import
(comment) @comment
(expression_statement (call_expression)) @call
"""
_RUST = """
(function_item name: (_) @name) @function
(function_signature_item name: (_) @name) @function
(macro_definition name: (_) @name) @function
(impl_item type: (_) @name) @class
(trait_item name: (_) @name) @class
(struct_item name: (_) @name) @class
(enum_item name: (_) @name) @class
(union_item name: (_) @name) @class
(mod_item name: (_) @name body: (_)) @module
[(if_expression) (for_expression) (while_expression) (loop_expression) (match_arm) (try_expression)] @branch
(binary_expression operator: ["&&" "||"]) @branch
[(use_declaration) (extern_crate_declaration)] @import
[(line_comment) (block_comment)] @comment
(expression_statement [(macro_invocation) (call_expression)]) @call
"""
_JAVA = """
(class_declaration name: (_) @name) @class
(interface_declaration name: (_) @name) @class
(enum_declaration name: (_) @name) @class
(record_declaration name: (_) @name) @class
(annotation_type_declaration name: (_) @name) @class
(method_declaration name: (_) @name) @function
(constructor_declaration name: (_) @name) @function
(compact_constructor_declaration name: (_) @name) @function
[(if_statement) (for_statement) (enhanced_for_statement) (while_statement) (do_statement) (catch_clause)
 (ternary_expression) (switch_label)] @branch
(binary_expression operator: ["&&" "||"]) @branch
[(import_declaration) (package_declaration)] @import
[(line_comment) (block_comment)] @comment
(expression_statement (method_invocation)) @call
"""
_C = """
(function_definition declarator: (_) @name) @function
(struct_specifier name: (_) @name body: (_)) @class
(union_specifier name: (_) @name body: (_)) @class
(enum_specifier name: (_) @name body: (_)) @class
[(if_statement) (for_statement) (while_statement) (do_statement) (case_statement) (conditional_expression)
 (preproc_if) (preproc_ifdef)] @branch
(binary_expression operator: ["&&" "||"]) @branch
(preproc_include) @import
(comment) @comment
(expression_statement (call_expression)) @call
"""
_CPP = (
    _C
    + """
(class_specifier name: (_) @name body: (_)) @class
(namespace_definition name: (_) @name) @module
[(for_range_loop) (catch_clause)] @branch
(using_declaration) @import
"""
)
_RUBY = """
(method name: (_) @name) @function
(singleton_method name: (_) @name) @function
(class name: (_) @name) @class
(module name: (_) @name) @module
[(if) (elsif) (unless) (while) (until) (for) (when) (in_clause) (rescue) (conditional) (if_modifier)
 (unless_modifier) (while_modifier) (until_modifier)] @branch
(binary operator: ["&&" "||" "and" "or"]) @branch
(comment) @comment
((call method: (identifier) @required) @import (#match? @required "^(require|require_relative|load)$"))
(body_statement (call) @call)
"""
QUERIES = {
    "python": _PYTHON,
    "typescript": _TYPESCRIPT,
    "tsx": _TYPESCRIPT,
    "javascript": _JAVASCRIPT,
    "go": _GO,
    "rust": _RUST,
    "java": _JAVA,
    "c": _C,
    "cpp": _CPP,
    "ruby": _RUBY,
}

_MISSING = (
    "Functions are found by git's hunk headings only: no grammars ({}); "
    "run `pip install '.[review]'` in a checkout of Holdfast"
)


@cache
def load_grammar(language: str) -> tuple[Any, Any] | None:
    """tree-sitter's parser and query; None if the language has no grammar, or the extra is not installed."""
    if language not in QUERIES or missing_grammars():
        return None
    # Heavy, and an extra.
    from semble_grammars import (  # type: ignore[import-untyped] # noqa: PLC0415
        GrammarLoadError,
        get_language,
        get_parser,
    )
    from tree_sitter import Query  # noqa: PLC0415

    try:
        known = get_language(language)
    except GrammarLoadError:
        return None
    return get_parser(language), Query(known, QUERIES[language])


@cache
def missing_grammars() -> str:
    """Why there are no grammars, as a sentence; empty if there are."""
    try:
        from semble_grammars import (  # noqa: PLC0415 -- heavy, an extra
            GrammarLoadError,
            UnsupportedPlatformError,
            get_language,
        )
    except ImportError:
        return _MISSING.format("not installed")
    try:
        # One grammar shows whether they can be loaded at all.
        get_language("python")
    except (GrammarLoadError, UnsupportedPlatformError) as error:
        return _MISSING.format(str(error).splitlines()[0])
    return ""
