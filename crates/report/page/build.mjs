// Bundles the script of the pages into dist/page.js, with the licences of its parts at its head.
import * as esbuild from "esbuild";
import { existsSync, readFileSync, readdirSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const result = await esbuild.build({
  entryPoints: ["src/main.ts"],
  bundle: true,
  minify: true,
  format: "iife",
  target: ["es2022"],
  charset: "utf8",
  legalComments: "none",
  metafile: true,
  write: false,
  logLevel: "warning",
});

// The packages that the bundle really contains something of.
const output = Object.values(result.metafile.outputs)[0];
const packages = new Set();
for (const [path, { bytesInOutput }] of Object.entries(output.inputs)) {
  const found = path.match(/^node_modules\/((?:@[^/]+\/)?[^/]+)\//);
  if (found && bytesInOutput > 0) packages.add(found[1]);
}

// Most licences share one text and differ in their owners: the text appears once, below the names.
const texts = new Map();
for (const name of [...packages].sort()) {
  const folder = join("node_modules", name);
  const file = existsSync(folder) && readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
  if (!file) throw new Error(`${name} has no licence file`);
  const lines = readFileSync(join(folder, file), "utf8").trim().split("\n");
  const holders = lines.filter((line) => /^\s*copyright \D*\d/i.test(line)).map((line) => line.trim());
  const text = lines.filter((line) => !/^\s*copyright \D*\d/i.test(line)).join("\n").trim();
  const key = text.replace(/\s+/g, " ");
  const known = texts.get(key) ?? { text, names: [] };
  known.names.push(`${name}: ${holders.join("; ")}`);
  texts.set(key, known);
}
const notices = [...texts.values()].map(({ text, names }) => `${names.join("\n")}\n\n${text}`).join("\n\n----\n\n");
const banner = `/*\nThis script holds parts of other people's work.\n\n${notices.replaceAll("*/", "* /")}\n*/\n`;

writeFileSync("dist/page.js.tmp", banner + result.outputFiles[0].text);
renameSync("dist/page.js.tmp", "dist/page.js");
