import './fields.css';
import { language, say, tellHeight } from './parent-page.ts';
import { bankStrings } from './strings.ts';

// The sandbox's bank: it stands for the page on which a real one asks for a code or a fingerprint.
const strings = bankStrings[language];
const clientSecret = location.hash.slice(1);

document.documentElement.lang = language;
document.title = strings.title;
const text = document.createElement('p');
text.textContent = strings.question;
const fault = document.createElement('p');
fault.className = 'fault';
fault.setAttribute('role', 'alert');
const buttons = (['success', 'failure'] as const).map((outcome) => {
  const button = document.createElement('button');
  Object.assign(button, { type: 'button', textContent: strings[outcome] });
  button.addEventListener('click', () => void answer(outcome));
  return button;
});
const row = document.createElement('div');
row.className = 'answers';
row.append(...buttons);
document.body.append(text, row, fault);
tellHeight('bank');

async function answer(outcome: 'success' | 'failure'): Promise<void> {
  for (const button of buttons) button.disabled = true;
  fault.textContent = '';
  try {
    await fetch('authentications', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ client_secret: clientSecret, outcome }),
      signal: AbortSignal.timeout(15_000),
    });
    // A refusal too: the answer has been given in another tab, or the time is over. The page asks what came of it.
    say({ from: 'bank', kind: 'answered' });
  } catch {
    // The connection failed: the shopper tries again.
    fault.textContent = strings.unreachable;
    for (const button of buttons) button.disabled = false;
  }
}
