// Builds the pages: each one HTML file with script and style inside, and a gap for the data.
//
// The content security policy names the script and the style by their hashes, so nothing else can
// run or be fetched, whatever strings a recording carries; the data is not script and needs none.
import { createHash } from 'node:crypto';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const here = fileURLToPath(new URL('.', import.meta.url));
const OUT = join(here, '..', 'bobtail', 'dist', 'page');
/** Stands where the data goes; `packages/bobtail/src/cli/page/page-file.ts` knows it, too. */
const GAP = '@@BOBTAIL-DATA@@';
/** The pages by the names of their entry points. */
const TITLES = { report: 'Bobtail report', diff: 'Bobtail diff', whatif: 'Bobtail what if' };

const hashOf = (text) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;

/** Script and style of a page, bundled. */
async function bundle(name) {
  const { outputFiles } = await build({
    entryPoints: [join(here, `src/${name}.tsx`), join(here, `src/${name}.css`)],
    outdir: OUT,
    bundle: true,
    minify: true,
    write: false,
    format: 'iife',
    target: ['chrome111', 'firefox113', 'safari16.4'],
    jsx: 'automatic',
    jsxImportSource: 'preact',
    legalComments: 'none',
    define: { 'process.env.NODE_ENV': '"production"' },
  });
  const [script, style] = ['.js', '.css'].map((extension) =>
    outputFiles.find(({ path }) => path.endsWith(extension)).text.trim(),
  );
  for (const end of ['</script', '</style']) {
    if (script.includes(end) || style.includes(end)) throw new Error(`${name} contains ${end}`);
  }
  return { script, style };
}

function pageOf(title, { script, style }) {
  const policy = [
    "default-src 'none'",
    `script-src ${hashOf(script)}`,
    `style-src ${hashOf(style)}`,
    "base-uri 'none'",
    "form-action 'none'",
    "require-trusted-types-for 'script'",
  ].join('; ');
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>${title}</title>
<style>${style}</style>
</head>
<body>
<div id="page"><p class="loading">This page needs JavaScript.</p></div>
<script type="application/json" id="data">${GAP}</script>
<script>${script}</script>
</body>
</html>
`;
}

rmSync(OUT, { recursive: true, force: true });
mkdirSync(OUT, { recursive: true });
for (const [name, title] of Object.entries(TITLES)) {
  const page = pageOf(title, await bundle(name));
  writeFileSync(join(OUT, `${name}.html`), page);
  process.stdout.write(`${name} page: ${(page.length / 1024).toFixed(0)} KiB\n`);
}
