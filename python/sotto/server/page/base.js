const at = id => document.getElementById(id);
const SPAN = 240;  // points of a graph: a minute at 4 a second
const points = [];
let key = "";

function headers() {
  return key ? {"Authorization": "Bearer " + key} : {};
}

function ask() {
  if (!at("ask").open) at("ask").showModal();
  return new Promise(done => at("ask").addEventListener("close", () => { key = at("key").value; done(); }, {once: true}));
}

function state(text, bad) {
  at("state").textContent = text;
  at("state").className = bad ? "bad" : "";
}

function figure(id, parts) {
  at(id).replaceChildren(...parts.flatMap(([value, unit, colour], number) => {
    const bold = document.createElement("b");
    bold.textContent = value;
    if (colour) bold.style.color = `var(${colour})`;
    return [number ? ", " : "", bold, " " + unit];
  }));
}

function graph(id, lines, least) {
  const canvas = at(id), ratio = devicePixelRatio || 1, style = getComputedStyle(document.documentElement);
  const width = canvas.clientWidth, height = canvas.clientHeight;
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  const pen = canvas.getContext("2d");
  pen.scale(ratio, ratio);
  const most = Math.max(least, ...points.flatMap(point => lines.map(([, read]) => read(point)))) * 1.1;
  pen.font = "11px system-ui, sans-serif";
  pen.strokeStyle = style.getPropertyValue("--line");
  pen.fillStyle = style.getPropertyValue("--soft");
  for (const part of [0.5, 1]) {
    const y = height - height * part / 1.1;
    pen.beginPath();
    pen.moveTo(0, y);
    pen.lineTo(width, y);
    pen.stroke();
    pen.fillText(Math.round(most / 1.1 * part), 2, y + 12);
  }
  for (const [colour, read] of lines) {
    pen.strokeStyle = style.getPropertyValue(colour);
    pen.lineWidth = 1.8;
    pen.beginPath();
    points.forEach((point, number) => {
      const x = width * (number + SPAN - points.length) / (SPAN - 1);
      pen.lineTo(x, height - 1 - (height - 1) * read(point) / most);
    });
    pen.stroke();
  }
}
