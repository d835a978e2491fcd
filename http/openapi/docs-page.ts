/**
 * The interactive documentation page. It loads everything from this server: its content security policy
 * forbids all other addresses, so no font, script, proxy or telemetry request goes elsewhere. Constant text,
 * no logic. Served by docs-routes.ts.
 */

export const pageHtml = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Rollcall API</title>
<link rel="icon" href="data:,">
</head>
<body>
<div id="app"></div>
<noscript>This page needs JavaScript. The document itself:
<a href="/openapi.json">/openapi.json</a>.</noscript>
<script src="/docs/reference.js"></script>
<script src="/docs/start.js"></script>
</body>
</html>
`;

export const startScript = `Scalar.createApiReference('#app', {
  url: '/openapi.json',
  withDefaultFonts: false,
  telemetry: false,
  showDeveloperTools: 'never',
  hideClientButton: true,
  persistAuth: false,
  agent: { disabled: true },
  mcp: { disabled: true },
});
`;

/** Allows only this server. Inline styles are allowed because the API reference sets them on elements. */
export const pagePolicy =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; " +
  "font-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
