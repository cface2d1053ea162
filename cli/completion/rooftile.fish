# Completion of `rooftile` in fish. The program says what may follow (cli/completion.h).
function __rooftile_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l lines ($words[1] complete $words[2..-1] "$current" 2>/dev/null)
    set -q lines[1]; or return
    set -l also $lines[-1]
    printf '%s\n' $lines[1..-2]
    switch $also
        case :files
            __fish_complete_path "$current"
        case :folders
            __fish_complete_directories "$current"
        case ':program *'
            set -l skipped (string split ' ' -- $also)[2]
            set -l rest $words[(math $skipped + 2)..-1]
            complete -C (string join ' ' -- (string escape -- $rest) "$current")
    end
end
complete -c rooftile -f -a '(__rooftile_complete)'
