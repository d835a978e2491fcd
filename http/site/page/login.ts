/**
 * The page that the login provider sends people back to.
 */
import { completeLogin } from './account.ts';

const note = document.getElementById('login-note') as HTMLElement;
const outcome = await completeLogin(new URLSearchParams(location.search)).catch(() => ({
  message: 'The server does not answer. Go back and try again.',
}));
// The code stays out of the history.
if ('returnTo' in outcome) location.replace(outcome.returnTo);
else {
  history.replaceState(null, '', '/login');
  note.textContent = outcome.message;
}
