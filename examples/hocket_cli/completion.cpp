// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// hocket completion SHELL: a script that completes commands, options, choices and files, written from the tool's own
// tree of commands. CLI11 has none.
#include <memory>
#include <string>

#include "command.hpp"
#include "tree.hpp"

namespace hocket_cli {
namespace {

/// In single quotes, as all three shells read it.
std::string in_quotes(const std::string& text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'') out += "'\\''";
    else out += c == '\n' ? ' ' : c;
  }
  return out + "'";
}

std::string names_of(const command_entry& command) {
  std::string names;
  for (const option_entry& option : command.options) names += (names.empty() ? "" : " ") + joined(option.names);
  return names;
}

/// What may stand where no option wants a value: sub-commands, or choices and files of the positional words.
struct words_of {
  std::string choices;
  bool files = false;
};
words_of plain_words(const command_entry& command) {
  words_of out{joined(command.subcommands)};
  for (const option_entry& option : command.options) {
    if (!option.positional) continue;
    out.choices += (out.choices.empty() ? "" : " ") + joined(option.choices);
    out.files |= option.takes_file;
  }
  return out;
}

// Bash and zsh find out in the same way where the cursor stands; both read this.
std::string tables(const std::vector<command_entry>& all) {
  std::string paths, values, plain;
  for (const command_entry& command : all) {
    if (!command.path.empty()) paths += "      " + in_quotes(command.path) + ") at=$word ;;\n";
    for (const option_entry& option : command.options) {
      if (option.value.empty() || option.names.empty()) continue;
      std::string pattern;
      for (const std::string& name : option.names)
        pattern += (pattern.empty() ? "" : "|") + in_quotes(command.path + ':' + name);
      values += "    " + pattern + ") choices=" + in_quotes(joined(option.choices));
      if (option.takes_file) values += " kind=file";
      else if (option.takes_folder) values += " kind=folder";
      else values += " kind=word";
      values += " ;;\n";
    }
    const words_of words = plain_words(command);
    plain += "    " + in_quotes(command.path) + ") options=" + in_quotes(names_of(command)) +
             " choices=" + in_quotes(words.choices) + (words.files ? " kind=file" : "") + " ;;\n";
  }
  return "  for ((i = first; i < here; ++i)); do\n"
         "    word=\"${at:+$at }${words[i]}\"\n"
         "    case \"$word\" in\n" +
         paths +
         "    esac\n"
         "  done\n"
         "  case \"$at:$before\" in\n" +
         values +
         "  esac\n"
         "  if [[ -n $kind ]]; then options=; else\n"
         "  case \"$at\" in\n" +
         plain +
         "  esac\n"
         "  fi\n";
}

// clang-format off: shell, which it takes for C++
std::string bash_script(const std::vector<command_entry>& all) {
  return R"sh(# Completion of hocket for bash. Read it in ~/.bashrc:  eval "$(hocket completion bash)"
_hocket() {
  local now=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} at= word= i choices= options= kind=
  local first=1 here=$COMP_CWORD
  local -a words=("${COMP_WORDS[@]}")
  # Bash takes --option=value apart at the sign.
  if [[ $now == = ]]; then now=
  elif [[ $before == = && $COMP_CWORD -gt 1 ]]; then before=${COMP_WORDS[COMP_CWORD-2]}
  fi
)sh" + tables(all) +
         R"sh(  COMPREPLY=()
  if [[ $now == -* ]]; then mapfile -t COMPREPLY < <(compgen -W "$options" -- "$now"); return; fi
  if [[ -n $choices ]]; then mapfile -t COMPREPLY < <(compgen -W "$choices" -- "$now"); fi
  if [[ $kind == file ]]; then
    compopt -o filenames 2>/dev/null
    mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -f -- "$now")
  elif [[ $kind == folder ]]; then
    compopt -o filenames 2>/dev/null
    mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -d -- "$now")
  fi
}
complete -F _hocket hocket
)sh";
}

std::string zsh_script(const std::vector<command_entry>& all) {
  return R"sh(#compdef hocket
# Completion of hocket for zsh. Read it in ~/.zshrc, behind compinit:  source <(hocket completion zsh)
_hocket() {
  emulate -L zsh
  local now=${words[CURRENT]} before=${words[CURRENT-1]} at= word= i choices= options= kind=
  local first=2 here=$CURRENT
  if [[ $now == --*=* ]]; then before=${now%%=*}; compset -P '*='; now=${now#*=}; fi
)sh" + tables(all) +
         R"sh(  if [[ $now == -* ]]; then compadd -- ${=options}; return; fi
  [[ -n $choices ]] && compadd -- ${=choices}
  [[ $kind == file ]] && _files
  [[ $kind == folder ]] && _files -/
  return 0
}
compdef _hocket hocket
)sh";
}
// clang-format on

std::string fish_script(const std::vector<command_entry>& all) {
  std::string out =
      "# Completion of hocket for fish. Keep it:  hocket completion fish > ~/.config/fish/completions/hocket.fish\n"
      "function __hocket_at\n"
      "  set -l at\n"
      "  set -l words (commandline -opc)\n"
      "  for word in $words[2..-1]\n"
      "    switch (string join ' ' -- $at $word)\n"
      "      case";
  for (const command_entry& command : all)
    if (!command.path.empty()) out += ' ' + in_quotes(command.path);
  out +=
      "\n        set -a at $word\n    end\n  end\n"
      "  set -l joined (string join ' ' -- $at)\n  test \"$joined\" = \"$argv[1]\"\nend\n"
      "complete -c hocket -f\n";
  for (const command_entry& command : all) {
    const std::string head = "complete -c hocket -n \"__hocket_at '" + command.path + "'\"";
    for (const std::string& name : command.subcommands)
      for (const command_entry& below : all)
        if (below.path == (command.path.empty() ? name : command.path + ' ' + name))
          out += head + " -a " + name + " -d " + in_quotes(below.text) + '\n';
    for (const option_entry& option : command.options) {
      std::string line = head;
      for (const std::string& name : option.names)
        line += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      if (!option.choices.empty()) line += " -a " + in_quotes(joined(option.choices));
      if (option.takes_file || option.takes_folder) line += " -F";
      if (!option.value.empty() && !option.names.empty()) line += " -r";
      out += line + " -d " + in_quotes(option.text.substr(0, option.text.find('\n'))) + '\n';
    }
  }
  return out;
}

}  // namespace

void add_completion(CLI::App& app) {
  struct options {
    std::string shell, out;
  };
  const auto o = std::make_shared<options>();
  CLI::App* command = app.add_subcommand("completion", "A script by which a shell completes this tool's words");
  command->add_option("shell", o->shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  command->footer(
      "bash: eval \"$(hocket completion bash)\" in ~/.bashrc\n"
      "zsh:  source <(hocket completion zsh) in ~/.zshrc, behind compinit\n"
      "fish: hocket completion fish > ~/.config/fish/completions/hocket.fish");
  add_out_alone(*command, o->out);
  command->callback([o] {
    const std::vector<command_entry> all = commands_of(*this_run().app);
    write_file(o->out, o->shell == "bash" ? bash_script(all) : o->shell == "zsh" ? zsh_script(all) : fish_script(all));
  });
}

}  // namespace hocket_cli
