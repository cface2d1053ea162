// Certifies kernels in float64 and times the product on the processor, beside the worker that owns the device.
import {loadEngine} from './engine.js';

let engine = null;

const answers = {
  /** {variant, problem, adapter} -> number of cases. */
  certify: ({variant, problem, adapter}) => engine.ask('certify', {variant, problem, adapter}),
  /** A case -> the plan and the contents of its buffers. */
  prepare: ({index}) => {
    const plan = engine.ask('prepare', {case: index});
    const contents = {};
    for (const [name, memory] of Object.entries(plan.memory)) contents[name] = engine.copyOf(memory);
    answers.result = plan.result;
    delete plan.memory;
    return {plan, contents};
  },
  /** The contents of C after the run -> {ok, ratio, wrong}. */
  compare: ({c}) => {
    engine.write(answers.result, c);
    return engine.ask('compare');
  },
  /** Time in ns of a float32 product on one thread: the median of at least three samples of 5 ms, because browsers' clocks are coarse. */
  cpu: ({problem}) => {
    const times = [];
    const end = performance.now() + 1500;
    const elapsed = count => {
      const begin = performance.now();
      for (let i = 0; i < count; ++i) engine.cpuProduct(problem.m, problem.n, problem.k);
      return performance.now() - begin;
    };
    let count = 1;
    while (elapsed(count) < 5) count *= 2;
    while (times.length < 3 || (times.length < 9 && performance.now() < end)) times.push(elapsed(count) * 1e6 / count);
    times.sort((x, y) => x - y);
    return {ns: times[times.length >> 1]};
  },
};

onmessage = ({data, ports}) => {
  if (data !== 'port') return;
  const port = ports[0];
  port.onmessage = async ({data: {id, what, request}}) => {
    try {
      engine ??= await loadEngine();
      port.postMessage({id, answer: answers[what](request)});
    } catch (failure) {
      port.postMessage({id, error: failure.message});
    }
  };
};
