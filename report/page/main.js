// One device at a time; everything is drawn again when the device or the theme changes.

function showProblem(index) {
  byId("problem-select").value = index;
  byId("problem-select").onchange();
  byId("problem").scrollIntoView();
  byId("problem-select").focus({preventScroll: true});
}

function renderPage() {
  const device = kData.devices[byId("device").value];
  if (!device) {
    byId("notices").replaceChildren(element("p", {class: "notice"}, "No device in this database yet: `rooftile tune` tunes the devices of this machine."));
    for (const section of document.querySelectorAll("section:not(#overview), nav")) section.hidden = true;
    return;
  }
  renderOverview(device);
  renderRoofline(device, showProblem);
  renderGains(device);
  renderProblem(device);
  renderSearch(device);
  renderWaves(device);
  renderMap(device);
  renderBoundary(device);
  renderCalibration(device);
}

byId("database").textContent = kData.database;
fillSelect(byId("device"), kData.devices.map((d, i) => [i, `${d.name} (${d.driver})`]));
byId("device").closest("p").hidden = kData.devices.length < 2;
byId("device").onchange = renderPage;
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", renderPage);
// Paper is white.
addEventListener("beforeprint", () => { document.documentElement.dataset.theme = "light"; renderPage(); });
addEventListener("afterprint", () => { delete document.documentElement.dataset.theme; renderPage(); });
renderPage();
