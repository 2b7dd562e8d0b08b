// Rules of the page's scripts. Undefined names, duplicate keys and unreachable lines are found by tsc.
export default [
  {
    files: ["vmmetrics/{viewer,rating}/page/*.js"],
    linterOptions: { reportUnusedDisableDirectives: "error" },
    rules: {
      eqeqeq: "error",
      "max-lines": ["error", { max: 400, skipBlankLines: true, skipComments: true }],
      "no-constant-condition": ["error", { checkLoops: "none" }],
      "no-control-regex": "error",
      "no-empty": "error",
      "no-fallthrough": "error",
      "no-loss-of-precision": "error",
      "no-self-compare": "error",
      "no-unused-expressions": ["error", { allowTernary: true }],
      "no-unused-vars": "error",
      "no-useless-assignment": "error",
      "no-useless-escape": "error",
      "no-var": "error",
      "object-shorthand": "error",
      "prefer-const": ["error", { destructuring: "all" }],
      "prefer-template": "error",
    },
  },
];
