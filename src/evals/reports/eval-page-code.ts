// Contains the HTML report's style and script. Both are constant, because the page's Content Security Policy lists their hashes.

export const pageStyle = `
:root { --text: #1c1e21; --soft: #5f6670; --line: #d8dce2; --back: #ffffff; --card: #f6f7f9; --good: #1a7f37; --bad: #c4232c; --warn: #9a6700; }
@media (prefers-color-scheme: dark) {
  :root { --text: #e4e7eb; --soft: #9aa3ad; --line: #363b43; --back: #15181c; --card: #1e2227; --good: #4ac26b; --bad: #ff7b72; --warn: #e3b341; }
}
* { box-sizing: border-box; }
[hidden] { display: none !important; }
body { margin: 0; padding: 1rem; color: var(--text); background: var(--back); font: 15px/1.45 system-ui, sans-serif; }
main { max-width: 75rem; margin: 0 auto; }
h1 { font-size: 1.4rem; margin: 1rem 0 0.2rem; overflow-wrap: anywhere; }
h2 { font-size: 1.05rem; margin: 0 0 0.5rem; overflow-wrap: anywhere; }
p { margin: 0.2rem 0; }
a { color: inherit; }
.facts { list-style: none; margin: 0.2rem 0 1rem; padding: 0; color: var(--soft); display: flex; flex-wrap: wrap; gap: 0.1rem 1.2rem; }
form { position: sticky; top: 0; z-index: 1; background: var(--back); display: flex; flex-wrap: wrap; gap: 0.5rem 1rem; align-items: center; max-width: 75rem; margin: 0 auto; padding: 0.5rem 0; }
select, input { font: inherit; color: inherit; background: var(--card); border: 1px solid var(--line); border-radius: 6px; padding: 0.3rem 0.5rem; max-width: 100%; }
output, small { color: var(--soft); }
small { display: block; font-size: 0.8rem; }
table { border-collapse: collapse; width: 100%; }
th, td { border-top: 1px solid var(--line); padding: 0.45rem 0.6rem 0.45rem 0; text-align: left; vertical-align: top; font-weight: normal; overflow-wrap: anywhere; }
thead th { color: var(--soft); border-top: 0; }
.name { font-weight: 600; }
.word { font-size: 0.8rem; padding: 0 0.35rem; border-radius: 4px; border: 1px solid currentColor; }
.passed > .mark, .mark.passed, .word.passed { color: var(--good); }
.failed > .mark, .mark.failed, .word.failed { color: var(--bad); }
.word.flaky, .word.error, .word.undecided, .warning { color: var(--warn); }
details { margin-top: 0.2rem; color: var(--soft); font-size: 0.85rem; }
pre { margin: 0.2rem 0; padding: 0.4rem 0.6rem; background: var(--card); border-radius: 6px; white-space: pre-wrap; overflow-wrap: anywhere; max-height: 20rem; overflow: auto; font: 0.85rem/1.4 ui-monospace, monospace; }
.matrix td:nth-child(2) { min-width: 13rem; }
.trials { width: 45%; }
.trial { width: 2.2rem; height: 2.2rem; margin: 0 0.25rem 0.25rem 0; border: 1px solid currentColor; border-radius: 6px; background: var(--card); font: inherit; cursor: pointer; }
.trial.passed { color: var(--good); }
.trial.failed { color: var(--bad); font-weight: 700; }
.trial.error { color: var(--warn); font-weight: 700; }
.card { width: min(40rem, calc(100vw - 2rem)); max-height: 85vh; overflow: auto; color: var(--text); background: var(--back); border: 1px solid var(--line); border-radius: 10px; padding: 1rem; }
.card::backdrop { background: rgb(0 0 0 / 40%); }
.reasons { margin: 0.2rem 0; padding-left: 1.1rem; color: var(--bad); font-size: 0.85rem; }
.checks { list-style: none; margin: 0; padding: 0; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 0.1rem 1rem; margin: 0.6rem 0; }
dt { color: var(--soft); }
dd { margin: 0; overflow-wrap: anywhere; }
.comparison { border: 1px solid var(--line); border-radius: 10px; padding: 0.8rem; margin-bottom: 1rem; }
.comparison.failed { border-color: var(--bad); }
@media (max-width: 40rem) {
  thead { display: none; }
  tr { display: block; border-top: 1px solid var(--line); padding: 0.4rem 0; }
  th, td { display: block; border: 0; padding: 0.1rem 0; width: auto; }
}
`;

export const pageScript = `
const filters = document.getElementById("filters");
const status = document.getElementById("status");
const text = document.getElementById("text");
const count = document.getElementById("count");
const rows = [...document.querySelectorAll(".matrix tbody tr")];
const texts = rows.map((row) => row.querySelector("th").textContent.toLowerCase());
function show() {
  const wanted = text.value.trim().toLowerCase();
  let shown = 0;
  rows.forEach((row, index) => {
    const fits = (status.value === "" || row.dataset.status.split(" ").includes(status.value)) && texts[index].includes(wanted);
    row.hidden = !fits;
    if (fits) shown += 1;
  });
  count.textContent = shown + " of " + rows.length + (rows.length === 1 ? " case" : " cases");
}
filters.hidden = false;
filters.addEventListener("submit", (event) => event.preventDefault());
filters.addEventListener("input", show);
show();
`;
