// What full waves and full tiles would leave to gain.

function renderWaves(device) {
  if (device.problems.length === 0) return draw("waves", {empty: "Nothing is tuned yet."});
  const shown = mostWork(device.problems), names = shown.map(problemName);
  const kinds = [{field: "wave_efficiency", name: "wave efficiency", colour: "blue"}, {field: "tile_efficiency", name: "tile efficiency", colour: "teal"}];
  const number = true;
  return draw("waves", {
    description: "Share of the last wave and of the tiles that is used.", height: barsHeight(shown.length, 2),
    table: table("Waves", [{name: "problem"}, {name: "kernel"}, {name: "workgroups", number}, {name: "waves", number},
                           {name: "wave efficiency", number}, {name: "tile efficiency", number}, {name: "limiter"}],
                 device.problems.map((p) => [problemName(p), p.kernel, significant(p.waves.workgroups, 9), significant(p.waves.waves, 9),
                                             percent(p.waves.wave_efficiency), percent(p.waves.tile_efficiency), limitName(p.limiter)])),
    config: {type: "bar", options: {
      indexAxis: "y", interaction: {mode: "nearest", intersect: true}, plugins: {legend: legend()},
      scales: {x: {min: 0, max: 1, ticks: {callback: percent}, title: {display: true, text: "used"}}, y: nameAxis(names)}},
      data: {labels: names, datasets: kinds.map((kind) => ({
        label: kind.name, backgroundColor: colour(kind.colour), barPercentage: 0.9, categoryPercentage: 0.85,
        data: shown.map((p) => p.waves[kind.field]),
        lines: shown.map((p) => [problemName(p), p.kernel,
                                 `${significant(p.waves.workgroups, 9)} workgroups in ${significant(p.waves.waves, 9)} waves`,
                                 `${kind.name} ${percent(p.waves[kind.field])}`])}))}}});
}
