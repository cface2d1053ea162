// What the page's worker does for its search, without a worker: certificates by a second engine, whose memory holds the operands
// and the expected result. Used by tune_in_node.mjs and rivals/rivals.js.

/** The function `ask` of the services of a Tuning. checker: an engine that serves nothing else. */
export function certifier(checker) {
  let result;
  const answers = {
    certify: request => checker.ask('certify', request),
    prepare: ({index}) => {
      const plan = checker.ask('prepare', {case: index});
      result = plan.result;
      return {plan, contents: Object.fromEntries(Object.entries(plan.memory).map(([name, at]) => [name, checker.copyOf(at)]))};
    },
    compare: ({c}) => {
      checker.write(result, c);
      return checker.ask('compare');
    },
    cpu: () => ({ns: null}),
  };
  return async (what, request) => answers[what](request);
}
