/**
 * The page to which the login provider sends people back. Its script exchanges the code for a token, keeps
 * the token for this tab, and returns to where the login began.
 */
import { renderPage } from './layout.ts';
import { type Html, render } from './render.ts';
import type { Site } from './site.ts';

export const renderLoginPage = (site: Site): Html =>
  renderPage(site, {
    title: 'Login',
    scripts: ['login.ts'],
    body: render`<section class="card plain"><h1>Login</h1>
<p id="login-note" role="status">One moment …</p>
<noscript><p>The login needs JavaScript.</p></noscript>
<p><a href="/" id="login-back">To the front page</a></p></section>`,
  });
