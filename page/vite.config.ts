import { defineConfig } from "vite";

// Relative addresses: a proxy may serve the page below a path of its own. No inlined files: the content policy has no
// `data:`.
export default defineConfig({
  base: "./",
  build: {
    outDir: "../seatunnel_py/web/page",
    emptyOutDir: true,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    target: "es2022",
    reportCompressedSize: true,
  },
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
});
