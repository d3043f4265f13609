// A language model that says what a test gave it, one answer after the other, the last for ever.
const vscode = require("vscode");

exports.activate = (context) => {
  const script = { answers: [], asked: [] };
  const text = (message) => message.content.map((part) => part.value ?? "").join("");
  context.subscriptions.push(
    vscode.lm.registerLanguageModelChatProvider("scripted", {
      provideLanguageModelChatInformation: () => [
        { id: "scripted-1", name: "Scripted Model", family: "scripted", version: "1", maxInputTokens: 100_000, maxOutputTokens: 10_000, capabilities: {} },
      ],
      provideTokenCount: (_, given) => Math.ceil((typeof given === "string" ? given : text(given)).length / 4),
      async provideLanguageModelChatResponse(_, messages, options, progress, token) {
        script.asked.push({ messages: messages.map(text), tools: options.tools ?? [] });
        const answer = script.answers.length > 1 ? script.answers.shift() : script.answers[0];
        if (answer instanceof Error) {
          throw answer;
        }
        for (let at = 0; at < answer.length && !token.isCancellationRequested; at += 40) {
          progress.report(new vscode.LanguageModelTextPart(answer.slice(at, at + 40)));
        }
      },
    }),
  );
  return script;
};
